package config

// Backup configures how backups reach an S3 store. The variable names are those of Amazon's
// tools.
type Backup struct {
	// KeyID and Secret are the access key; both are empty where backups go to folders.
	KeyID  string `env:"AWS_ACCESS_KEY_ID" unit:"name" doc:"Access key of the S3 store for backups to s3://BUCKET/PREFIX."`
	Secret Secret `env:"AWS_SECRET_ACCESS_KEY" unit:"token" doc:"Secret of the access key."`
	// Region is the region of the bucket.
	Region string `env:"AWS_REGION" envDefault:"us-east-1" unit:"name" doc:"Region of the bucket for backups."`
	// Endpoint is the address of a store other than Amazon's; empty for Amazon's.
	Endpoint string `env:"AWS_ENDPOINT_URL" unit:"http:// https://" doc:"S3 store for backups, such as a MinIO; empty: Amazon's."`
}
