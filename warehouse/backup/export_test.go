package backup

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// SignedAs returns the header that authorizes a request.
func SignedAs(key S3, request *http.Request, contentHash string, now time.Time) string {
	b := &bucketStore{S3: key, root: &url.URL{}}
	b.sign(request, contentHash, now)
	return request.Header.Get("Authorization")
}

// PutManifest writes a manifest to a destination.
func PutManifest(ctx context.Context, o Options, m Manifest) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	m.Format = formatVersion
	return writeManifest(ctx, s.store, m)
}

// Retain removes what o.Keep does not cover, as after a backup.
func Retain(ctx context.Context, o Options, now time.Time) error {
	s, err := open(o)
	if err != nil {
		return err
	}
	entries, err := list(ctx, s.store)
	if err != nil {
		return err
	}
	return s.retain(ctx, entries, now)
}
