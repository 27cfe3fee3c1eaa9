"""Which runs? Decides what each due schedule becomes."""
