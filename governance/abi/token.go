package abi

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// Token is a well-known token.
type Token struct {
	// Symbol is its name, Decimals how many decimal places its amounts have.
	Symbol   string
	Decimals int
}

//go:embed tokens.txt
var tokenRows string

var tokens = sync.OnceValue(func() map[[2]string]Token { //nolint:gochecknoglobals // a constant that Go cannot write as one
	table := map[[2]string]Token{}
	for row := range rows(tokenRows) {
		of := strings.Fields(row)
		decimals, _ := strconv.Atoi(of[3]) // a test reads the file
		table[[2]string{of[0], of[1]}] = Token{of[2], decimals}
	}
	return table
})

// IsKnownSymbol reports whether a well-known token or native money has a symbol, in any letter case.
func IsKnownSymbol(symbol string) bool {
	is := strings.EqualFold(symbol, "ETH") || strings.EqualFold(symbol, "native")
	for _, token := range tokens() {
		is = is || strings.EqualFold(token.Symbol, symbol)
	}
	return is
}

// TokenAt returns the well-known token at an address of a chain.
func TokenAt(chain, address string) (Token, bool) {
	token, is := tokens()[[2]string{chain, address}]
	return token, is
}
