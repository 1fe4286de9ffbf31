print("cachectl")
