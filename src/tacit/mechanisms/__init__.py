"""What makes counts private: local randomizers, a curator's noise, running counters, and the choice among them."""
