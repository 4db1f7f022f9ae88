package main

// Rows returns all comparisons in the order of the report. Each subject has a file:
// rows_http.go, rows_page.go, …. An import is kept for its chart.
func Rows(importing *importing) []Row {
	var rows []Row
	rows = append(rows, httpRows()...)
	rows = append(rows, edgeRows()...)
	rows = append(rows, pageRows()...)
	rows = append(rows, ballotRows()...)
	rows = append(rows, exportRows()...)
	rows = append(rows, fillRows()...)
	rows = append(rows, dossierRows()...)
	rows = append(rows, publishRows()...)
	rows = append(rows, nodeRows()...)
	rows = append(rows, changeRows()...)
	rows = append(rows, webhookRows()...)
	rows = append(rows, idleRows()...)
	rows = append(rows, serveRows(importing)...)
	rows = append(rows, mirrorRows()...)
	rows = append(rows, followRows()...)
	return rows
}
