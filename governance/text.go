package governance

// OptionalText returns text, or nil when it is empty: upstream does not state it.
func OptionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
