// Package accounts holds what belongs to callers: tokens, usage, payments and webhooks.
package accounts

import (
	"embed"

	"pnyx/warehouse"
)

//go:embed sql
var sqlFiles embed.FS

func sqlText(name string) string { return warehouse.SQLText(sqlFiles, name) }
