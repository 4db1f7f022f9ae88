package config

import "strconv"

// Ratio is a decimal number from 0 to 1, as text.
type Ratio string

// Share returns the number.
func (r Ratio) Share() float64 {
	share, _ := strconv.ParseFloat(string(r), 64) // validated
	return share
}
