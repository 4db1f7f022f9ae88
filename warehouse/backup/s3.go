package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// maxS3Tries is how often a request is sent, with growing pauses, while a store fails.
	maxS3Tries = 4
	// maxS3Answer bounds each answer but the content of a file: a page of 1,000 names has a
	// fraction of it.
	maxS3Answer = 2 << 20
	// maxS3Pages bounds the requests for one list. A page may have fewer names than the 1,000
	// that are asked for.
	maxS3Pages = 2 * maxObjects / 1000
)

// bucketStore is a store in an S3 bucket, which it addresses by path.
type bucketStore struct {
	S3
	client *minio.Client
	// root is the address of the bucket.
	root   *url.URL
	bucket string
	// prefix is what all keys begin with; it is empty or ends with a slash.
	prefix string
}

func openBucket(s3 S3, bucket, prefix string) (*bucketStore, error) {
	if s3.Endpoint == "" {
		s3.Endpoint = "https://s3." + s3.Region + ".amazonaws.com"
	}
	endpoint, err := url.Parse(s3.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	transport, err := minio.DefaultTransport(endpoint.Scheme == "https")
	if err != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(s3.KeyID, s3.Secret, ""),
		Secure: endpoint.Scheme == "https", Region: s3.Region, Transport: boundedTransport{transport},
		BucketLookup: minio.BucketLookupPath, MaxRetries: maxS3Tries,
	})
	if err != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	return &bucketStore{S3: s3, client: client, root: endpoint.JoinPath(bucket), bucket: bucket, prefix: prefix}, nil
}

func (b *bucketStore) names(ctx context.Context) ([]string, error) {
	var names []string
	listed := 0
	err := b.each(ctx, minio.ListObjectsOptions{Prefix: b.prefix}, func(found minio.ObjectInfo) error {
		if listed++; listed > maxBackups {
			return fmt.Errorf("the store lists more than %d names", maxBackups)
		}
		if name, is := strings.CutSuffix(strings.TrimPrefix(found.Key, b.prefix), "/"); is {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func (b *bucketStore) list(ctx context.Context, prefix string) (files []object, err error) {
	err = b.each(ctx, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}, func(found minio.ObjectInfo) (err error) {
		files, err = add(files, prefix, object{strings.TrimPrefix(found.Key, b.prefix), found.Size})
		return err
	})
	return files, err
}

func (b *bucketStore) each(ctx context.Context, o minio.ListObjectsOptions, use func(minio.ObjectInfo) error) error {
	left := &atomic.Int64{}
	left.Store(maxS3Pages)
	for found := range b.client.ListObjectsIter(context.WithValue(ctx, pagesLeft{}, left), b.bucket, o) {
		err := found.Err
		if err == nil {
			err = use(found)
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", b.root, s3Error(err))
		}
	}
	return nil
}

func (b *bucketStore) read(ctx context.Context, key string) (io.ReadCloser, error) {
	file, err := b.client.GetObject(ctx, b.bucket, b.prefix+key, minio.GetObjectOptions{})
	if err == nil {
		_, err = file.Stat() // the request is sent with the first use
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, s3Error(err))
	}
	return file, nil
}

func (b *bucketStore) write(ctx context.Context, key string, content io.Reader, size int64) error {
	if _, err := b.client.PutObject(ctx, b.bucket, b.prefix+key, content, size, minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("write %s: %w", key, s3Error(err))
	}
	return nil
}

func (b *bucketStore) remove(ctx context.Context, key string) error {
	if err := b.client.RemoveObject(ctx, b.bucket, b.prefix+key, minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("remove %s: %w", key, s3Error(err))
	}
	return nil
}

// pagesLeft is the key of the number of requests that a list may still send, in the context
// of each: a store may answer every one with no name and a promise of more.
type pagesLeft struct{}

// boundedTransport bounds what a store answers. The client decodes answers as a whole, and
// asks as long as there is a next page.
type boundedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if left, is := r.Context().Value(pagesLeft{}).(*atomic.Int64); is && left.Add(-1) < 0 {
		return nil, fmt.Errorf("the list has no end after %d pages", maxS3Pages)
	}
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// Readers of a file bound its content.
	content := r.Method == http.MethodGet && r.URL.RawQuery == "" && answer.StatusCode < http.StatusMultipleChoices
	if !content {
		answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxS3Answer}
	}
	return answer, nil
}

// boundedBody is a body that ends with an error where it is too long.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the store answers with more than %d bytes", maxS3Answer)
	}
	return n, err
}

// s3Error returns an error with the store's status and reason; fs.ErrNotExist for a missing file.
func s3Error(err error) error {
	answer, is := errors.AsType[minio.ErrorResponse](err)
	if !is || answer.StatusCode == 0 {
		return err
	}
	err = fmt.Errorf("%d %s %s: %s", answer.StatusCode, http.StatusText(answer.StatusCode), answer.Code, answer.Message)
	if answer.Code == minio.NoSuchKey {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
