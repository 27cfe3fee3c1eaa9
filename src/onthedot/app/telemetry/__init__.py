"""What a node tells about itself: events as text, as JSON and as log records; metrics; traces."""
