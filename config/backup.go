package config

// Backup configures how backups are signed, and how they reach an S3 store, by the variables of Amazon's tools.
type Backup struct {
	KeyID     string `env:"AWS_ACCESS_KEY_ID" unit:"name" doc:"Access key of the S3 store for backups to s3://BUCKET/PREFIX."`
	Secret    Secret `env:"AWS_SECRET_ACCESS_KEY" unit:"token" doc:"Secret of the access key."`
	Region    string `env:"AWS_REGION" envDefault:"us-east-1" unit:"name" doc:"Region of the bucket for backups."`
	Endpoint  string `env:"AWS_ENDPOINT_URL" unit:"http:// https://" doc:"S3 store for backups, such as a MinIO; empty: Amazon's."`
	Scheduled string `env:"PNYX_BACKUP_SCHEDULED" envDefault:"off" unit:"on|off" doc:"on: backups are made on a schedule, and PnyxBackupNever fires while there is none."`
	// Keys sign manifests: the first signs, and both are accepted. They must not be where the backups are.
	Keys Secret `env:"PNYX_BACKUP_KEY" unit:"token[,token]" doc:"Key that signs backups; only signed ones are restored or built upon; two during a rotation, the new one first; empty: whoever writes to the destination decides what is restored."`
}
