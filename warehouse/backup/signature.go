package backup

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

const (
	// signatureFile has the signature of a manifest. It is written before it.
	signatureFile     = "/manifest.hmac"
	maxSignatureBytes = 1 << 10
	// signedText begins what is signed, so that the signature stands for nothing else that
	// is signed with the same key.
	signedText = "pnyx backup manifest\n"
)

// ErrUnsigned reports a backup that is not signed with a key of Options.Keys.
var ErrUnsigned = errors.New("it is not signed with PNYX_BACKUP_KEY")

func signatureOf(key string, manifest []byte) string {
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte(signedText))
	sum.Write(manifest)
	return hex.EncodeToString(sum.Sum(nil))
}

// sign writes the signature of a manifest by the first key, if there is one.
func (s *session) sign(ctx context.Context, name string, manifest []byte) error {
	if len(s.Keys) == 0 {
		return nil
	}
	text := []byte(signatureOf(s.Keys[0], manifest) + "\n")
	return s.store.write(ctx, name+signatureFile, bytes.NewReader(text), int64(len(text)))
}

// authenticate returns ErrUnsigned unless a manifest is signed with one of the keys. Without
// keys nothing is asked for.
func (s *session) authenticate(ctx context.Context, name string, manifest []byte) error {
	if len(s.Keys) == 0 {
		return nil
	}
	text, err := readAll(ctx, s.store, name+signatureFile, maxSignatureBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errUnusable) {
		return err
	}
	for _, key := range s.Keys {
		if hmac.Equal(bytes.TrimSpace(text), []byte(signatureOf(key, manifest))) {
			return nil
		}
	}
	return fmt.Errorf("%w: backup %s: %w: it was made without the key, with another one, or was changed; "+
		"--unsigned restores it as it is", errUnusable, name, ErrUnsigned)
}
