package worker_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

var errNotYet = errors.New("not yet")

func (h *harness) dossier(key governance.ProposalKey, right func(governance.Dossier) bool) (d governance.Dossier) {
	h.t.Helper()
	env.Until(h.t, func() error {
		var i governance.Intelligence
		if _, err := h.readView(query.Dossier{Proposal: key}, &i); err != nil {
			return err
		}
		d = governance.Dossier{}
		if err := json.Unmarshal(i.Dossier, &d); err != nil {
			return err
		}
		if !right(d) { // nodes ask again once it has expired
			again := cache.Fill{Page: cache.NewPageRequest(query.Dossier{Proposal: key}), Deadline: governance.TimestampOf(time.Now().Add(soon))}
			return errors.Join(errNotYet, h.store.Fills().Enqueue(h.t.Context(), again))
		}
		return nil
	})
	return d
}

// A dossier is computed from stored records, and again once they change.
func TestADossierFollowsItsRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	at := func(hours int) *governance.Timestamp {
		stamp := governance.Timestamp(1_700_000_000_000 + hours*3_600_000)
		return &stamp
	}
	vote := func(proposal, voter, key string, power int64, hours int) *record.Ballot {
		b := vote(proposal, voter, fmt.Sprint(power))
		b.ChoiceKey, b.Choices, b.RawChoice, b.VotedAt = key, []string{key}, key, at(hours)
		b.VoteID = fmt.Sprintf("v%s-%d", voter, hours)
		return b
	}
	data := env.Must(hex.DecodeString("a9059cbb" + strings.Repeat("0", 24) + strings.Repeat("b2", 20) + fmt.Sprintf("%064x", 25_000_000_000)))(t)
	pay := func() *record.Action {
		return &record.Action{Chain: "eip155:1", Target: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", Value: "0", Calldata: data}
	}
	earlier, own := proposal("earlier"), proposal("own")
	for i, p := range []*record.Proposal{earlier, own} {
		p.Choices, p.ProposerID, p.VoteType, p.State = []string{"For", "Against"}, "0xada", governance.SingleChoice, "closed"
		p.CreatedAt, p.StartAt, p.EndAt = at(200*i-10), at(200*i), at(200*i+100)
		quorum := decimal.NewFromInt(4)
		p.Quorum, p.QuorumRaw = &quorum, "4"
	}
	own.Title, own.Body = "Pay for the audit", "We pay 25,000 USDC to 0x"+strings.Repeat("b2", 20)+"."
	own.SetActions(1, []*record.Action{pay()})
	discussion := &record.Topic{
		Host: "forum.dao.org", ExternalID: "7", Title: "Audit", CreatedAt: at(50), Posts: 3, Visible: true, Slug: "audit",
		BodyHTML: `<a href="https://snapshot.org/#/dao.eth/proposal/own">vote</a>`,
	}
	earlier.SetActions(1, []*record.Action{pay()})
	earlier.UpstreamStatus, earlier.DiscussionURL = "enacted", "https://forum.dao.org/t/old/6"
	old := &record.Topic{Host: "forum.dao.org", ExternalID: "6", Title: "Old", CreatedAt: at(-58), Posts: 3, Visible: true, Slug: "old"}
	own.DiscussionURL = "https://forum.dao.org/t/audit/7"
	h.append(
		&record.DAO{
			ID: "dao", Name: "The DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}, {Provider: governance.Discourse, ID: "forum.dao.org"}},
			Contracts: []record.Contract{{ID: "eip155:1:0x" + strings.Repeat("b2", 20), Name: "Auditors", Functions: []string{"audit(uint256 year)"}}},
		},
		earlier, own, old, discussion, vote("earlier", "0x1", "1", 5, 1),
		vote("own", "0x1", "2", 1, 201), vote("own", "0x1", "1", 1, 202), vote("own", "0x2", "2", 2, 203), vote("own", "0x3", "1", 3, 204),
	)
	h.start()
	key := keyOf("dao", "own")
	d := h.dossier(key, func(d governance.Dossier) bool {
		return len(d.Process.Topics) == 1 && d.Process.MedianDiscussionDays != nil && d.Participation.Compared == 1 && d.Course != nil
	})
	got := env.Must(json.Marshal([]any{
		d.Decision.Leader.Key, d.Decision.MarginPower, d.Decision.Quorum.MetBy.VoterIdentity, d.Participation.NewVoters, d.Participation.Rank,
		d.Course.Recasts, d.Course.SideChanges, d.Course.LeaderChanges, d.Voters.Strongest[0].VoterIdentity, d.Proposer.Here,
		d.Actions[0].Transfer.Amount, *d.Actions[0].InText.Amount, d.Effects.Transfers[0].Symbol, d.Process.DiscussionDays, d.Process.MedianDiscussionDays,
		d.Addresses[1].Name, d.Actions[0].Arguments[0].AddressName,
	}))(t)
	if want := `["1","2","0x3","2",1,"1","1",2,"0x1",{"executed":1},"25000",true,"USDC","6","2","Auditors","Auditors"]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if has := slices.ContainsFunc(d.Findings, func(f governance.Finding) bool { return f.Severity == governance.SeverityHigh }); has {
		t.Errorf("got findings %+v, want none of high severity", d.Findings)
	}
	if !slices.ContainsFunc(d.Findings, func(f governance.Finding) bool { return f.Rule == rules.RecipientKnown }) {
		t.Errorf("got findings %+v, want the recipient known", d.Findings)
	}
	// What comes after the end of the vote changes nothing.
	executed := *earlier
	executed.Milestones = []record.Milestone{{Type: "executed", At: at(301)}}
	late := &record.Topic{
		Host: "forum.dao.org", ExternalID: "8", Title: "Afterwards", CreatedAt: at(302), Posts: 3, Visible: true, Slug: "after", BodyHTML: discussion.BodyHTML,
	}
	executed.SetActions(1, []*record.Action{pay()})
	h.append(&executed, late)
	d = h.dossier(key, func(d governance.Dossier) bool { return d.Proposer.Here[governance.Passed] == 1 })
	if s := d.Process.Similar; len(s) != 1 || s[0].Outcome != governance.Passed || d.Addresses[1].PaidBy != nil || len(d.Process.Topics) != 1 {
		t.Errorf("got similar %+v, paid by %v, topics %+v", s, d.Addresses[1].PaidBy, d.Process.Topics)
	}
	executed.Milestones[0].At = at(110)
	h.append(&executed)
	h.dossier(key, func(d governance.Dossier) bool {
		return d.Proposer.Here[governance.Executed] == 1 && d.Addresses[1].PaidBy != nil
	})
	edited := *own
	edited.Body = "We pay 250 USDC."
	edited.SetActions(1, []*record.Action{pay()})
	h.append(&edited)
	h.dossier(key, func(d governance.Dossier) bool {
		return slices.ContainsFunc(d.Findings, func(f governance.Finding) bool { return f.Rule == rules.AmountMagnitude })
	})
}

// While a vote is open, a call that moves power makes a signal, which names the rule alone. It is
// withdrawn once the vote is over.
func TestASensitiveActionIsASignal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	conn := env.ConnectWarehouse(t, h.url)
	h.start()
	write := func(call string, change func(*record.Proposal)) {
		data := env.Must(hex.DecodeString(call))(t)
		p := votedBetween("a", -2, 40)
		p.CreatedAt = p.StartAt // nothing else is to be said before
		p.Body, p.State = "We pay 25,000 USDC to 0x"+strings.Repeat("b2", 20)+".", "active"
		p.SetActions(1, []*record.Action{{Chain: "eip155:1", Target: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", Value: "0", Calldata: data}})
		change(p)
		h.append(p)
	}
	pay := "a9059cbb" + strings.Repeat("0", 24) + strings.Repeat("b2", 20) + fmt.Sprintf("%064x", 25_000_000_000)
	grant := "2f2ff15d" + strings.Repeat("0", 64) + strings.Repeat("0", 24) + strings.Repeat("c3", 20)
	write(pay, func(*record.Proposal) {})
	h.waitForSignals("dao.eth", "voting_opened 40")
	write(grant, func(*record.Proposal) {})
	h.waitForSignals("dao.eth", "sensitive_action 75", "voting_opened 40")
	rows, err := h.signals("dao.eth")
	if want := `{"findings":"role_moved","highestSeverity":"high","rule":"sensitive_action","ruleVersion":"1"}`; err != nil || string(rows[0].Evidence) != want {
		t.Errorf("got %s, %v; want %s", rows[0].Evidence, err, want)
	}
	if rows[0].DetectedAt != hour(-2) || rows[0].DeadlineAtMs == nil || *rows[0].DeadlineAtMs != hour(40) {
		t.Errorf("got it at %s until %v", rows[0].DetectedAt, rows[0].DeadlineAtMs)
	}
	views := warehouse.ViewsDatabase(env.Column(t, conn, "SELECT currentDatabase()")[0])
	for view, want := range map[string]string{
		"findings": "role_moved high grantRole(bytes32,address) changes who has power over 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48: granted to 0x" + strings.Repeat("c3", 20) + ". ['/actions/0/function']",
		"effects":  "permission 0x" + strings.Repeat("c3", 20) + " 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48 granted",
	} {
		columns := map[string]string{"findings": "rule, ' ', severity, ' ', sentence, ' ', toString(facts)", "effects": "effect, ' ', recipient, ' ', target, ' ', change"}[view]
		env.Until(t, func() error {
			if got := env.Column(t, conn, fmt.Sprintf("SELECT concat(%s) FROM %s.proposal_%s", columns, views, view)); !slices.Equal(got, []string{want}) {
				return fmt.Errorf("%s: got %q, want %q", view, got, want)
			}
			return nil
		})
	}
	write(pay, func(*record.Proposal) {})
	env.Until(t, func() error {
		got := env.Column(t, conn, fmt.Sprintf("SELECT toString((effect, amount, amount_text, symbol)) FROM %s.proposal_effects", views))
		if found := env.Column(t, conn, fmt.Sprintf("SELECT rule FROM %s.proposal_findings", views)); len(got) != 1 || got[0] != "('transfer',25000,'25000','USDC')" || len(found) > 0 {
			return fmt.Errorf("got %q with findings %q", got, found)
		}
		return nil
	})
	write(grant, func(p *record.Proposal) { p.EndAt, p.State = new(hour(-1)), "closed" })
	h.waitForSignals("dao.eth", "proposal_deadline_reminder 50", "voting_opened 40")
	write(pay, func(p *record.Proposal) { p.Flagged = true })
	h.waitForSignals("dao.eth")
	env.Until(t, func() error { // spam is in no signal, and what it would do in the views
		if got := env.Column(t, conn, fmt.Sprintf("SELECT toString(effect) FROM %s.proposal_effects", views)); !slices.Equal(got, []string{"transfer"}) {
			return fmt.Errorf("of spam: got %q, want its transfer", got)
		}
		return nil
	})
}

// Once a DAO names its contracts, analysts and findings know what earlier proposals call.
func TestContractsOfTheDAODecodeEarlierActions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	conn := env.ConnectWarehouse(t, h.url)
	views := warehouse.ViewsDatabase(env.Column(t, conn, "SELECT currentDatabase()")[0])
	h.start()
	target, selector := "0x"+strings.Repeat("d4", 20), abi.SelectorOf("endow(uint256)")
	dao := &record.DAO{ID: "dao", Name: "DAO", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}}
	p := votedBetween("a", -2, 40)
	p.SetActions(1, []*record.Action{{Chain: "eip155:1", Target: target, Value: "0", Calldata: append(selector[:], make([]byte, 32)...)}})
	await := func(want string) {
		t.Helper()
		env.Until(t, func() error {
			got := env.Column(t, conn, fmt.Sprintf("SELECT concat(toString((function, arguments, undecoded)), "+
				"(SELECT toString(groupArray(rule)) FROM %s.proposal_findings)) FROM %[1]s.proposal_actions", views))
			if !slices.Equal(got, []string{want}) {
				return fmt.Errorf("got %q, want %q", got, want)
			}
			return nil
		})
	}
	unknown := fmt.Sprintf("(NULL,'[]','no known function has selector 0x%x')['payload_undecoded']", selector)
	h.append(dao, p)
	await(unknown)
	dao.Contracts = []record.Contract{{ID: "eip155:1:" + target, Name: "Vault", Functions: []string{"endow(uint256 amount)"}}}
	h.append(dao)
	await(`('endow(uint256)','[{"name":"amount","type":"uint256","value":"0","items":null}]',NULL)[]`)
	dao.Contracts = nil
	h.append(dao)
	await(unknown)
}
