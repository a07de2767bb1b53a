"""What programs may ask for, whatever the protocol: requests, responses and the functions between
them."""
