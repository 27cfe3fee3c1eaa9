"""Speed, side by side with peers in one run. Never part of the tests: these figures depend on the machine."""
