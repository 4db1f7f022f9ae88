package routes

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func exportRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "proposals.export", Path: pathExport, Tier: governance.Plus, Addition: true,
			Title:   "List the parts of a ballot export",
			Summary: "The parts in which all ballots of one proposal are downloaded, as they are at this moment.",
			Returns: governance.BallotExport{}, Fresh: httpcache.Published(),
		}, (*Backend).ballotExport),
		handle(Route{
			ID: "proposals.export-part", Path: pathExport + "/:revision/:part", Tier: governance.Plus, Addition: true,
			Title: "Download a part of a ballot export",
			Summary: "Up to 20,000 ballots, the highest power first, one a line as the list of ballots has it. " +
				"A download that was interrupted continues with Range.",
			Returns: governance.ExportedBallot{}, Media: exportMedia(), Fresh: httpcache.Part(),
		}, (*Backend).ballotPart),
	}
}

func (b *Backend) ballotExport(ctx context.Context, r *Request, q query.BallotExport) (Answer, error) {
	var export governance.BallotExport
	answer, err := readPageOf(ctx, b, cache.NewPageRequest(q), &export, r.missing())
	if err != nil {
		return Answer{}, err
	}
	votes, err := strconv.Atoi(string(export.Votes))
	if err != nil {
		return Answer{}, apierror.Unavailable(fmt.Errorf("read the number of ballots: %w", err))
	}
	export.Final = export.Final && answer.View.Readiness == governance.Ready
	export.Parts = []governance.ExportPart{}
	for first := 0; first < votes; first += query.ExportRows {
		export.Parts = append(export.Parts, governance.ExportPart{
			Href:  ExportPath(q.Proposal) + "/" + export.Revision + "/" + strconv.Itoa(len(export.Parts)+1),
			First: first, Rows: min(query.ExportRows, votes-first),
		})
	}
	answer.Data = export
	return answer, nil
}

// ExportPath is the path of the manifest of a proposal.
func ExportPath(key governance.ProposalKey) string {
	return strings.Replace(pathExport, ":proposalKey", string(key), 1)
}

// ballotPart answers GET /v2/proposals/:proposalKey/votes/export/:revision/:part.
func (b *Backend) ballotPart(ctx context.Context, _ *Request, q query.BallotPart) (Answer, error) {
	return exportFile(ctx, b, cache.NewPageRequest(q), q.Format, ExportPath(q.Proposal))
}

func exportMedia() []string {
	var media []string
	for _, format := range governance.ExportFormats() {
		media = append(media, format.Media())
	}
	return media
}

// exportFile answers with a part of an export, whose manifest has a path.
func exportFile(ctx context.Context, b *Backend, page cache.PageRequest, format governance.ExportFormat, manifest string) (Answer, error) {
	f := &File{Media: format.Media()}
	answer, err := readPageOf(ctx, b, page, &f.File, ExportGone(manifest))
	answer.File = f
	return answer, err
}

// ExportGone is the error of a part whose rows cannot be read any more.
func ExportGone(manifest string) *apierror.Error {
	return apierror.New(http.StatusGone, apierror.CodeExportGone, map[string]any{"manifest": manifest},
		"the rows of this part are not available any more: begin again at the manifest")
}
