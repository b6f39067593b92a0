"""The collector: takes randomized reports over the network, counts each once, and never sees a true value."""
