"""What front ends that listen on HTTP share: who may ask them, where, and how they end."""
