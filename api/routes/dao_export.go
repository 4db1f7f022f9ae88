package routes

import (
	"context"
	"net/url"
	"strings"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

const pathDAOExport = "/v2/daos/:daoId/export"

func daoExportRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "daos.export", Path: pathDAOExport, Tier: governance.Plus, Addition: true, Expires: true,
			Title:   "List the parts of a DAO's export",
			Summary: "The parts in which all proposals, ballots, topics and events of one DAO are downloaded, or what changed of them.",
			Returns: governance.DAOExport{}, Fresh: httpcache.Published(),
		}, (*Backend).daoExport),
		handle(Route{
			ID: "daos.export-part", Path: pathDAOExport + "/:part", Tier: governance.Plus, Addition: true,
			Title:   "Download a part of a DAO's export",
			Summary: "Up to 50,000 rows. A download that was interrupted continues with Range.",
			Returns: governance.DAOExportRow{}, Media: exportMedia(), Fresh: httpcache.Part(),
		}, func(b *Backend, ctx context.Context, _ *Request, q query.DAOPart) (Answer, error) {
			return exportFile(ctx, b, cache.NewPageRequest(q), q.Format, daoExportPath(q.DAOID))
		}),
	}
}

func (b *Backend) daoExport(ctx context.Context, r *Request, q query.DAOExport) (Answer, error) {
	var export cache.DAOExport
	answer, err := readPageOf(ctx, b, cache.NewPageRequest(q), &export, r.missing())
	if err != nil {
		return Answer{}, err
	}
	if export.Oldest != nil {
		return Answer{}, apierror.CursorExpired(*export.Oldest)
	}
	for i := range export.Parts {
		part := &export.Parts[i]
		path := daoExportPath(q.DAOID) + "/" + part.Digest + "?"
		if export.Since != nil {
			path += "since=" + string(*export.Since) + "&"
		}
		part.Formats = governance.PartFormats(path + "format=")
	}
	answer.Data = export.DAOExport
	return answer, nil
}

func daoExportPath(daoID string) string {
	return strings.Replace(pathDAOExport, ":daoId", url.PathEscape(daoID), 1)
}
