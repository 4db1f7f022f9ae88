package backup

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxS3ErrorBytes bounds what is read of the answer of a failed request.
const maxS3ErrorBytes = 4 << 10

// bucketStore is a store in an S3 bucket, which it addresses by path. It has the five
// requests that backups need; a file is written by one request, so it is at most 5 GiB.
type bucketStore struct {
	S3
	// root is the address of the bucket.
	root *url.URL
	// prefix is what all keys begin with; it is empty or ends with a slash.
	prefix string
}

// s3Client bounds the wait for an answer; the transfer itself is bounded by the context.
//
//nolint:gochecknoglobals // a client is for all requests of a process
var s3Client = &http.Client{Transport: &http.Transport{
	Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute,
}}

// address returns the URL of a key, escaped as signatures require.
func (b *bucketStore) address(key string) *url.URL {
	address := *b.root
	address.Path += "/" + b.prefix + key
	address.RawPath = strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(address.Path))
	return &address
}

func (b *bucketStore) names(ctx context.Context) ([]string, error) {
	var names []string
	err := b.pages(ctx, url.Values{"prefix": {b.prefix}, "delimiter": {"/"}}, func(page listing) {
		for _, name := range page.Folders {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(name, b.prefix), "/"))
		}
	})
	return names, err
}

func (b *bucketStore) list(ctx context.Context, prefix string) ([]object, error) {
	var found []object
	err := b.pages(ctx, url.Values{"prefix": {b.prefix + prefix}}, func(page listing) {
		for _, file := range page.Files {
			found = append(found, object{strings.TrimPrefix(file.Key, b.prefix), file.Size})
		}
	})
	return found, err
}

// listing is one page of the answer to ListObjectsV2.
type listing struct {
	Files []struct {
		Key  string
		Size int64
	} `xml:"Contents"`
	Folders []string `xml:"CommonPrefixes>Prefix"`
	Next    string   `xml:"NextContinuationToken"`
}

func (b *bucketStore) pages(ctx context.Context, query url.Values, use func(listing)) error {
	query.Set("list-type", "2")
	for {
		address := *b.root
		address.RawQuery = query.Encode()
		response, err := b.do(ctx, http.MethodGet, &address, nil)
		if err != nil {
			return err
		}
		var page listing
		err = xml.NewDecoder(response.Body).Decode(&page)
		response.Body.Close()
		if err != nil {
			return fmt.Errorf("list %s: %w", b.root, err)
		}
		use(page)
		if page.Next == "" {
			return nil
		}
		query.Set("continuation-token", page.Next)
	}
}

func (b *bucketStore) read(ctx context.Context, key string) (io.ReadCloser, error) {
	response, err := b.do(ctx, http.MethodGet, b.address(key), nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (b *bucketStore) write(ctx context.Context, key string, content io.ReadSeeker) error {
	response, err := b.do(ctx, http.MethodPut, b.address(key), content)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (b *bucketStore) remove(ctx context.Context, key string) error {
	response, err := b.do(ctx, http.MethodDelete, b.address(key), nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// do sends a signed request. An answer other than 2xx is an error.
func (b *bucketStore) do(ctx context.Context, method string, address *url.URL, content io.ReadSeeker) (*http.Response, error) {
	hash, size := sha256.New(), int64(0)
	var body io.Reader
	if content != nil {
		var err error
		if size, err = io.Copy(hash, content); err != nil {
			return nil, err
		}
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		body = io.NopCloser(content)
		if size == 0 {
			body = http.NoBody
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = size
	b.sign(request, hex.EncodeToString(hash.Sum(nil)), time.Now().UTC())
	response, err := s3Client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	var answer struct{ Code, Message string }
	// An answer without a reason is reported by its status.
	_ = xml.NewDecoder(io.LimitReader(response.Body, maxS3ErrorBytes)).Decode(&answer)
	err = fmt.Errorf("%s %s: %s %s %s", method, address.Redacted(), response.Status, answer.Code, answer.Message)
	if response.StatusCode == http.StatusNotFound && answer.Code != "NoSuchBucket" {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return nil, err
}

// sign signs a request with version 4 of Amazon's signatures.
func (b *bucketStore) sign(request *http.Request, contentHash string, now time.Time) {
	const headers = "host;x-amz-content-sha256;x-amz-date"
	stamp := now.Format("20060102T150405Z")
	request.Header.Set("X-Amz-Date", stamp)
	request.Header.Set("X-Amz-Content-Sha256", contentHash)
	canonical := strings.Join([]string{
		request.Method, request.URL.EscapedPath(), strings.ReplaceAll(request.URL.RawQuery, "+", "%20"),
		"host:" + request.URL.Host, "x-amz-content-sha256:" + contentHash, "x-amz-date:" + stamp, "", headers, contentHash,
	}, "\n")
	scope := stamp[:8] + "/" + b.Region + "/s3/aws4_request"
	digest := sha256.Sum256([]byte(canonical))
	key := []byte("AWS4" + b.Secret)
	for _, part := range append(strings.Split(scope, "/"), "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(digest[:])) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.KeyID+"/"+scope+
		", SignedHeaders="+headers+", Signature="+hex.EncodeToString(key))
}
