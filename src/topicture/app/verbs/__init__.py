"""What the tool does with a collection, whatever asks for it: plain values in and out."""
