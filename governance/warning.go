package governance

// Warning is a conflict between what sources say of one proposal.
type Warning struct {
	// Code names the kind of conflict.
	Code WarningCode `json:"code" msgpack:"code"`
	// Message is the meaning of the code.
	Message string `json:"message" msgpack:"message"`
	// Field is the field of a proposal's detail or vote summary that is in doubt.
	Field string `json:"field" msgpack:"field"`
	// Details hold what each side says.
	Details map[string]string `json:"details" msgpack:"details"`
}

// WarningCode names a kind of conflict.
type WarningCode string
