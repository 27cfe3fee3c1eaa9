"""The rules by which a run goes from state to state: pure functions of rows and the store's time."""
