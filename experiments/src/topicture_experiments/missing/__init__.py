"""What owners leave out: promises where tags are no random sample, and where they are incomplete; Corel-5k, pixels."""
