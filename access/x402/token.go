package x402

import (
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
)

// Token is the token that payments are made in.
type Token struct {
	Network string
	Asset   string
	// Name is the name in the token's EIP-712 domain, which signatures depend on.
	Name    string
	Version string
	Symbol  string
	// Decimals is the number of decimal places, from 1 to 18.
	Decimals int
}

func knownTokens() []Token {
	return []Token{
		{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2", "USDC", 6},
		{"eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2", "USDC", 6},
	}
}

func (t Token) check() error {
	var problems []error
	if err := checkAddress(t.Asset); err != nil {
		problems = append(problems, fmt.Errorf("X402_ASSET: %w", err))
	}
	return errors.Join(append(problems, t.checkKnown())...)
}

// checkKnown compares a token with knownTokens. A wrong domain would show only in that every signature fails.
func (t Token) checkKnown() error {
	for _, known := range knownTokens() {
		switch {
		case known.Network == t.Network && known.Asset == t.Asset:
			known.Symbol = t.Symbol
			if known != t {
				return fmt.Errorf("X402_ASSET: %s on %s has the name %q, version %q and %d decimals, not %q, %q and %d",
					t.Asset, t.Network, known.Name, known.Version, known.Decimals, t.Name, t.Version, t.Decimals)
			}
		case known.Asset == t.Asset:
			return fmt.Errorf("X402_ASSET: %s is a token of %s, not of X402_NETWORK=%s", t.Asset, known.Network, t.Network)
		}
	}
	return nil
}

func (t Token) units(price string) (string, error) {
	amount, err := decimal.NewFromString(price)
	if err != nil {
		return "", fmt.Errorf("%q is not a decimal number", price)
	}
	units := amount.Shift(int32(t.Decimals)) //nolint:gosec // at most 18
	if !units.IsPositive() || !units.IsInteger() {
		return "", fmt.Errorf("%s is not a price above 0 with at most %d decimal places", price, t.Decimals)
	}
	return units.String(), nil
}
