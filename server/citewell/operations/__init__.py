"""Operations for programs, in any protocol: requests, responses and the functions between them."""
