// Package source reads what upstream systems publish (Snapshot, Tally, Discourse,
// and Pnyx's own canonical lines) and turns it into records.
//
// The files are NDJSON, one JSON object a line, gzip or plain. What a file holds
// is told by the shape of its first record, never by its name; every later line
// has to have that shape too. Find lists the files to read, Open reads one of
// them line by line, so that memory does not grow with the file. A line that
// cannot be a record is handed back as a RejectedError, and reading goes on.
//
// Numbers are read from their text and keep every digit. A field that upstream
// may leave out is empty in the record; an identifier has to be there. README.md
// beside this file tables the canonical lines.
package source
