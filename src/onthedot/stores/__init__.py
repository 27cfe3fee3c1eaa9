"""Where schedules and runs are kept. `base` is the law; the folder beside it holds those who keep it."""
