// Package facilitator gives tests all that payments need, without a chain: a [Wallet]
// that signs as real ones do, and a [Ledger] that keeps who was paid. The ledger is
// reached as a facilitator and as an RPC endpoint, and both can be made to fail in
// the ways that real ones do.
package facilitator

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access/x402"
	"pnyx/cache/accounts"
	"pnyx/governance/abi"
	"pnyx/test/check"
	"pnyx/test/upstream/chain"
)

// patience bounds what a gate waits for. Nothing takes as long when all is well.
const patience = time.Minute

// PayTo is who gets the money in tests.
const PayTo = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"

// Terms returns the terms of tests: USDC on Base Sepolia, for some routes.
func Terms(prices map[string]string) x402.Terms {
	return x402.Terms{
		Token: x402.Token{
			Network: "eip155:84532", Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
			Name: "USDC", Version: "2", Symbol: "USDC", Decimals: 6,
		},
		PayTo: PayTo, Prices: prices, Window: 2 * time.Minute, PublicURL: "https://api.example.org",
	}
}

// NewGate opens a gate before a ledger, for half a cent on each of the routes.
func NewGate(tb testing.TB, ledger *Ledger, store *accounts.Store, metrics prometheus.Registerer, routes iter.Seq[string]) *x402.Gate {
	tb.Helper()
	prices := map[string]string{}
	for route := range routes {
		prices[route] = "0.005"
	}
	gate := check.Must(x402.New(x402.Options{
		Terms: Terms(prices), Store: store, FacilitatorURL: ledger.Facilitator,
		VerifyTimeout: patience, SettleTimeout: patience, WorkTimeout: patience,
		Logger: slog.New(slog.DiscardHandler), Metrics: metrics,
	}))(tb)
	check.MustDo(tb, store.RestorePayments(context.WithoutCancel(tb.Context()), nil))
	tb.Cleanup(gate.Close)
	return gate
}

// Wallet is an account that signs payments.
type Wallet struct {
	tb  testing.TB
	key *secp256k1.PrivateKey
}

// NewWallet returns the account of a well-known development key.
func NewWallet(tb testing.TB) *Wallet {
	tb.Helper()
	key := check.Must(hex.DecodeString("7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"))(tb)
	return &Wallet{tb: tb, key: secp256k1.PrivKeyFromBytes(key)}
}

// NewPayer returns an account with a key of its own.
func NewPayer(tb testing.TB) *Wallet {
	tb.Helper()
	key := check.Must(secp256k1.GeneratePrivateKey())(tb)
	return &Wallet{tb: tb, key: key}
}

// Address returns the account's address, in lower case.
func (w *Wallet) Address() string {
	return addressOf(w.key.PubKey())
}

// Authorization is what is signed.
type Authorization struct {
	From string `json:"from"` // the address of the payer
	To   string `json:"to"`   // the address of the payee
	// Value is the amount in the token's smallest units, a decimal integer.
	Value string `json:"value"`
	// ValidAfter and ValidBefore are in seconds since 1970.
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	// Nonce distinguishes the authorizations of a payer: 0x and 64 hexadecimal digits.
	Nonce string `json:"nonce"`
}

// Payment is a payment before it is encoded; a test may spoil any part of it.
type Payment struct {
	X402Version any            `json:"x402Version"` // 2 in a right payment
	Accepted    map[string]any `json:"accepted"`    // the terms
	Payload     Payload        `json:"payload"`     // what the scheme adds
}

// Payload is an authorization with its signature.
type Payload struct {
	Signature     string        `json:"signature"` // in hexadecimal digits after 0x
	Authorization Authorization `json:"authorization"`
}

// Header returns the payment as the value of its header.
func (p Payment) Header() string {
	plain, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers
	}
	return base64.StdEncoding.EncodeToString(plain)
}

// Pay signs a payment for the challenge of a header. Spoil changes what is signed.
func (w *Wallet) Pay(challenge string, spoil ...func(*Authorization)) Payment {
	w.tb.Helper()
	plain, err := base64.StdEncoding.DecodeString(challenge)
	if err != nil {
		w.tb.Fatalf("challenge %q: %v", challenge, err)
	}
	var c struct {
		Accepts []map[string]any `json:"accepts"`
	}
	if err := json.Unmarshal(plain, &c); err != nil || len(c.Accepts) == 0 {
		w.tb.Fatalf("challenge %s: %v", plain, err)
	}
	terms := c.Accepts[0]
	var p Payment
	p.X402Version, p.Accepted = 2, terms
	window, _ := terms["maxTimeoutSeconds"].(float64)
	p.Payload.Authorization = Authorization{
		From: w.Address(), To: text(terms, "payTo"), Value: text(terms, "amount"), ValidAfter: "0",
		ValidBefore: strconv.FormatInt(time.Now().Unix()+int64(window), 10), Nonce: chain.Keccak(rand.Text()),
	}
	for _, change := range spoil {
		change(&p.Payload.Authorization)
	}
	p.Payload.Signature = w.sign(p.Payload.Authorization, terms)
	return p
}

// sign returns the signature with the recovery id last, as the chain has it.
func (w *Wallet) sign(a Authorization, terms map[string]any) string {
	compact := ecdsa.SignCompact(w.key, Digest(a, terms), false)
	return "0x" + hex.EncodeToString(append(compact[1:], compact[0]))
}

// recoverSigner returns who signed, in lower case.
func recoverSigner(signature string, digest []byte) (string, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil || len(raw) != 65 {
		return "", fmt.Errorf("signature %s is not of 65 bytes", signature)
	}
	key, _, err := ecdsa.RecoverCompact(append([]byte{raw[64]}, raw[:64]...), digest)
	if err != nil {
		return "", err
	}
	return addressOf(key), nil
}

func addressOf(key *secp256k1.PublicKey) string {
	return "0x" + hex.EncodeToString(abi.Keccak(key.SerializeUncompressed()[1:])[12:])
}

// Digest returns the EIP-712 hash of an authorization under the terms.
func Digest(a Authorization, terms map[string]any) []byte {
	extra, _ := terms["extra"].(map[string]any)
	chainID, _ := strings.CutPrefix(text(terms, "network"), "eip155:")
	domain := abi.Keccak(
		abi.Keccak([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")),
		abi.Keccak([]byte(text(extra, "name"))), abi.Keccak([]byte(text(extra, "version"))),
		number(chainID), address(text(terms, "asset")))
	message := abi.Keccak(
		abi.Keccak([]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)")),
		address(a.From), address(a.To), number(a.Value), number(a.ValidAfter), number(a.ValidBefore), word(a.Nonce))
	return abi.Keccak([]byte{0x19, 0x01}, domain, message)
}

// text returns a member that is a text.
func text(object map[string]any, name string) string {
	value, _ := object[name].(string)
	return value
}

func number(decimal string) []byte {
	value, _ := new(big.Int).SetString(decimal, 10)
	return value.FillBytes(make([]byte, 32))
}

func address(account string) []byte {
	return word("0x" + strings.Repeat("0", 24) + strings.TrimPrefix(account, "0x"))
}

func word(digits string) []byte {
	raw, _ := hex.DecodeString(strings.TrimPrefix(digits, "0x"))
	return raw
}
