"""When thousands of schedules will run, and where they crowd: python examples/forecast.py"""

from onthedot import cron, every
from onthedot.forecast import forecast

triggers = {f"shop-{number}": cron("0 3 * * *") for number in range(500)}  # all of them at three o'clock
triggers |= {f"feed-{number}": cron("H * * * *").with_key(f"feed-{number}") for number in range(500)}  # spread
triggers["poll"] = every("5m")

if __name__ == "__main__":
    week = forecast(triggers, "2026-11-16T00:00Z", "2026-11-23T00:00Z")
    print(len(week), "runs")
    night = week.query("2026-11-16T03:00Z", "2026-11-16T03:01Z")
    print(len(night), "of them at three o'clock on Monday, the first is", night[0].name)
