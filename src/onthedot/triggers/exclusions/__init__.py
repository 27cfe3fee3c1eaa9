"""What is left of a trigger when others are taken away: searched day by day, on bit masks, to the end of time."""
