package x402

// ExampleRefusal returns a refusal of the kind Required, InProgress or Pending, for documents.
func ExampleRefusal(kind Kind) *RefusedError {
	switch kind {
	case InProgress:
		return inProgress()
	case Pending:
		return pending(nil)
	default:
	}
	return &RefusedError{
		Kind: Required, Reason: reasonRequired, Message: messageOf(reasonRequired),
		Challenge: &Challenge{
			X402Version: version, Error: reasonRequired,
			Resource: Resource{
				URL:         "https://api.example.org/v2/proposals/p1_f_XfJz_6yGy1gCgoSU2qbg",
				Description: "One proposal with its full text.", MIMEType: "application/json",
			},
			Accepts: []Requirements{{
				Scheme: scheme, Network: "eip155:8453", Amount: "5000",
				Asset:             "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
				PayTo:             "0x0000000000000000000000000000000000000001",
				MaxTimeoutSeconds: 60, Extra: Domain{Name: "USD Coin", Version: "2"},
			}},
		},
	}
}
