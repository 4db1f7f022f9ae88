package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pnyx/warehouse/accounts"
)

const (
	// secretPrefix begins each secret, and signatureVersion each signature, as in Standard Webhooks.
	secretPrefix     = "whsec_"
	signatureVersion = "v1,"
	secretBytes      = 32
	idLength         = 16
)

// NewID returns a random id of an endpoint.
func NewID() string { return "wh_" + strings.ToLower(rand.Text()[:idLength]) }

// NewSecret returns a random secret.
func NewSecret() string {
	key := make([]byte, secretBytes)
	_, _ = rand.Read(key) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// signatures returns the header of a message: signed by the secret, and by the previous one while that is valid.
func signatures(e accounts.Webhook, id string, now time.Time, body []byte) (string, error) {
	secrets := []string{e.Secret}
	if e.PreviousSecret != "" && now.Before(e.PreviousUntil) {
		secrets = append(secrets, e.PreviousSecret)
	}
	var signed []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if err != nil {
			return "", fmt.Errorf("read the secret of webhook %s: %w", e.ID, err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(now.Unix(), 10) + "."))
		mac.Write(body)
		signed = append(signed, signatureVersion+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signed, " "), nil
}
