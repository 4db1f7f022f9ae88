package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"pnyx/warehouse"
)

const signingKeyBytes = 32

// SigningKey returns the key with this name. The first call creates it; concurrent calls
// of several processes return the same key.
func (a Accounts) SigningKey(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, signingKeyBytes)
	_, _ = rand.Read(fresh) // never fails
	if err := a.w.Conn.Exec(ctx, sqlText("signing_key_insert"), name, base64.StdEncoding.EncodeToString(fresh), name); err != nil {
		return nil, fmt.Errorf("create signing key %s: %w", name, err)
	}
	text, err := warehouse.FindValue[string](ctx, a.w, "read signing key "+name, sqlText("signing_key"), name)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("read signing key %s: %w", name, err)
	}
	return key, nil
}
