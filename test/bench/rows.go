package main

import "slices"

// Rows returns all comparisons in the order of the report. An import is kept for its chart.
func Rows(importing *importing) []Row {
	return slices.Concat(
		httpRows(), edgeRows(), pageRows(), ballotRows(), exportRows(), fillRows(), dossierRows(), publishRows(), nodeRows(),
		changeRows(), webhookRows(), idleRows(), serveRows(importing), mirrorRows(), followRows(),
	)
}
