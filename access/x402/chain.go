package x402

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pnyx/fetch"
	"pnyx/governance"
)

// Topics of the token's events, and the selector of its question.
const (
	topicAuthorizationUsed = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
	topicAuthorizationVoid = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
	topicTransfer          = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	callAuthorizationState = "0xe94a0102"
)

const (
	// searchBlocks is how many blocks are searched for a transfer: hours on networks with low fees, while an
	// authorization is valid for minutes.
	searchBlocks = 10_000
	chainTimeout = 3 * time.Second // bounds one check of a payment on the chain
	maxRPCBytes  = 8 << 20
)

type chainStatus string

const (
	// statusUnknown means that the chain was not queried, or did not answer.
	statusUnknown chainStatus = ""
	statusUnused  chainStatus = "unused" // the authorization was not submitted so far
	statusPaid    chainStatus = "paid"   // the tokens were transferred to the payee
	// statusSpent means that the authorization was used without such a transfer.
	statusSpent chainStatus = "spent"
)

type chain struct {
	url    string
	client *http.Client
}

func newChain(address string) *chain {
	return &chain{url: address, client: &http.Client{
		Timeout: chainTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, CheckRedirect: fetch.RefuseRedirect,
	}}
}

// log is an event of a contract. Topics, Data and LogIndex are hexadecimal, with 0x.
type log struct {
	Address     string   `json:"address"`
	Topics      []string `json:"topics"`
	Data        string   `json:"data"`
	LogIndex    string   `json:"logIndex"`
	Transaction string   `json:"transactionHash"`
}

// status returns the status of a payment, unknown without an endpoint, and the transaction that paid it.
func (c *chain) status(ctx context.Context, p governance.Payment) (chainStatus, string, error) {
	if c == nil {
		return statusUnknown, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, chainTimeout)
	defer cancel()
	used, err := c.used(ctx, p)
	if err != nil {
		return statusUnknown, "", err
	}
	if !used {
		return statusUnused, "", nil
	}
	uses, err := c.uses(ctx, p)
	if err != nil {
		return statusUnknown, "", err
	}
	if len(uses) == 0 {
		return statusUnknown, "", errNoResult // the index of events lags behind the state
	}
	for _, use := range uses {
		if len(use.Topics) == 0 || use.Topics[0] != topicAuthorizationUsed {
			continue
		}
		transferred, err := c.transferred(ctx, use, p)
		if err != nil {
			return statusUnknown, "", err
		}
		if transferred {
			return statusPaid, use.Transaction, nil
		}
	}
	return statusSpent, "", nil
}

func (c *chain) used(ctx context.Context, p governance.Payment) (bool, error) {
	var word string
	call := map[string]string{"to": p.Asset, "data": callAuthorizationState + padAddress(p.Payer)[2:] + p.Nonce[2:]}
	if err := c.call(ctx, "eth_call", []any{call, "latest"}, &word); err != nil {
		return false, err
	}
	value, err := integer(word)
	if err != nil {
		return false, fmt.Errorf("read authorizationState: %w", err)
	}
	return value.Sign() != 0, nil
}

// uses returns the events of the use or cancellation of an authorization.
func (c *chain) uses(ctx context.Context, p governance.Payment) ([]log, error) {
	var latest string
	if err := c.call(ctx, "eth_blockNumber", []any{}, &latest); err != nil {
		return nil, err
	}
	height, err := integer(latest)
	if err != nil {
		return nil, fmt.Errorf("read the number of the latest block: %w", err)
	}
	from := max(height.Int64()-searchBlocks, 0)
	var uses []log
	err = c.call(ctx, "eth_getLogs", []any{map[string]any{
		"address": p.Asset, "fromBlock": "0x" + strconv.FormatInt(from, 16), "toBlock": "latest",
		"topics": []any{[]string{topicAuthorizationUsed, topicAuthorizationVoid}, padAddress(p.Payer), p.Nonce},
	}}, &uses)
	return uses, err
}

// transferred reports whether the event after the use is the transfer to the payee. A transfer elsewhere in the
// transaction could belong to another payment.
func (c *chain) transferred(ctx context.Context, use log, p governance.Payment) (bool, error) {
	var receipt struct {
		Status string `json:"status"`
		Logs   []log  `json:"logs"`
	}
	if err := c.call(ctx, "eth_getTransactionReceipt", []any{use.Transaction}, &receipt); err != nil {
		return false, err
	}
	index, err := integer(use.LogIndex)
	if err != nil {
		return false, fmt.Errorf("read the place of an event: %w", err)
	}
	next := new(big.Int).Add(index, big.NewInt(1))
	for _, l := range receipt.Logs {
		place, err := integer(l.LogIndex)
		if err == nil && place.Cmp(next) == 0 {
			return isTransfer(l, p), nil
		}
	}
	return false, nil
}

func isTransfer(l log, p governance.Payment) bool {
	value, err := integer(l.Data)
	return err == nil && len(l.Topics) == 3 && strings.EqualFold(l.Address, p.Asset) &&
		l.Topics[0] == topicTransfer &&
		strings.EqualFold(l.Topics[1], padAddress(p.Payer)) && strings.EqualFold(l.Topics[2], padAddress(p.PayTo)) &&
		value.String() == p.Units
}

func (c *chain) call(ctx context.Context, method string, params []any, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", method, withoutURL(err))
	}
	defer response.Body.Close()
	var answered struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxRPCBytes)).Decode(&answered); err != nil {
		return fmt.Errorf("%s: %s: %w", method, response.Status, err)
	}
	if answered.Error != nil {
		return fmt.Errorf("%s: %s", method, answered.Error.Message)
	}
	if len(answered.Result) == 0 || string(answered.Result) == "null" {
		return fmt.Errorf("%s: %w", method, errNoResult)
	}
	return json.Unmarshal(answered.Result, result)
}

// withoutURL removes the URL from an error: it may contain the API key of a provider.
func withoutURL(err error) error {
	if failed, is := errors.AsType[*url.Error](err); is {
		return failed.Err
	}
	return err
}

// errNoResult means that an endpoint does not know an object, for instance because it lags behind.
var errNoResult = errors.New("no result")

// padAddress returns an address as a 32-byte word.
func padAddress(address string) string {
	return "0x" + strings.Repeat("0", 24) + strings.ToLower(address[2:])
}

// integer parses a hexadecimal number of any length.
func integer(text string) (*big.Int, error) {
	digits, found := strings.CutPrefix(text, "0x")
	number, ok := new(big.Int).SetString(digits, 16)
	if !found || !ok || strings.ContainsAny(digits, "+-") {
		return nil, fmt.Errorf("%q is not a hexadecimal number", text)
	}
	return number, nil
}
