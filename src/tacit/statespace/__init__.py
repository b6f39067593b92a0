"""One time-series model of counts observed through noise."""
