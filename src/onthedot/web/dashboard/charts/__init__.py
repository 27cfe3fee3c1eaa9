"""Pictures as SVG: values in, text out. Colours come from classes, so that they follow the theme and the policy."""
