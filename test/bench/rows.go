package main

// Rows lists what is compared, in the order of the report. A row stands where its
// subject does: rows_http.go, rows_page.go, ….
func Rows() []Row {
	var rows []Row
	rows = append(rows, httpRows()...)
	rows = append(rows, pageRows()...)
	rows = append(rows, publishRows()...)
	rows = append(rows, nodeRows()...)
	return rows
}
