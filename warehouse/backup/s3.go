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

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// maxS3Tries is how often a request is sent, with growing pauses, while a store fails.
const maxS3Tries = 4

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

// openBucket returns the store below a prefix of a bucket.
func openBucket(s3 S3, bucket, prefix string) (*bucketStore, error) {
	if s3.Endpoint == "" {
		s3.Endpoint = "https://s3." + s3.Region + ".amazonaws.com"
	}
	endpoint, err := url.Parse(s3.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(s3.KeyID, s3.Secret, ""),
		Secure: endpoint.Scheme == "https", Region: s3.Region,
		BucketLookup: minio.BucketLookupPath, MaxRetries: maxS3Tries,
	})
	if err != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	return &bucketStore{S3: s3, client: client, root: endpoint.JoinPath(bucket), bucket: bucket, prefix: prefix}, nil
}

// address returns the URL of a key, for a server that uses S3 itself.
func (b *bucketStore) address(key string) *url.URL { return b.root.JoinPath(b.prefix + key) }

func (b *bucketStore) names(ctx context.Context) ([]string, error) {
	var names []string
	err := b.each(ctx, minio.ListObjectsOptions{Prefix: b.prefix}, func(found minio.ObjectInfo) {
		if name, is := strings.CutSuffix(strings.TrimPrefix(found.Key, b.prefix), "/"); is {
			names = append(names, name)
		}
	})
	return names, err
}

func (b *bucketStore) list(ctx context.Context, prefix string) ([]object, error) {
	var files []object
	err := b.each(ctx, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}, func(found minio.ObjectInfo) {
		files = append(files, object{strings.TrimPrefix(found.Key, b.prefix), found.Size})
	})
	return files, err
}

func (b *bucketStore) each(ctx context.Context, o minio.ListObjectsOptions, use func(minio.ObjectInfo)) error {
	for found := range b.client.ListObjectsIter(ctx, b.bucket, o) {
		if found.Err != nil {
			return fmt.Errorf("list %s: %w", b.root, s3Error(found.Err))
		}
		use(found)
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

func (b *bucketStore) write(ctx context.Context, key string, content io.ReadSeeker) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = b.client.PutObject(ctx, b.bucket, b.prefix+key, content, size, minio.PutObjectOptions{})
	}
	if err != nil {
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

// s3Error returns an error with the status and the reason of the store. A missing file is
// fs.ErrNotExist.
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
