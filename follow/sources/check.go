package sources

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// crossCheck refuses values that are valid alone and contradict others.
func (p *parser) crossCheck(file File) {
	const exampleContact = "you@example.org" // the contact of the file that users copy
	if file.Contact == exampleContact {
		p.refuse("contact", "%s is from the example: put in how operators of upstream systems reach you", exampleContact)
	}
	for id, chain := range file.Chains {
		path := "chains." + string(id)
		if len(chain.RPC) == 0 {
			p.refuse(path+".rpc", "is empty: want at least one endpoint")
		}
		if len(slices.Compact(slices.Sorted(slices.Values(chain.RPC)))) < len(chain.RPC) {
			p.refuse(path+".rpc", "has an endpoint twice: the second look wants another one")
		}
		if _, known := file.Chains[chain.ClockChain]; chain.ClockChain != "" && !known {
			p.refuse(path+".clockChain", "%s is not one of chains", chain.ClockChain)
		}
	}
	if len(file.DAOs) == 0 {
		p.refuse("daos", "is empty: want at least one DAO")
	}
	ids, owners := map[Identifier]string{}, map[record.SourceRef]string{}
	for i, dao := range file.DAOs {
		path := fmt.Sprintf("daos[%d]", i)
		if first, again := ids[dao.ID]; again {
			p.refuse(path+".id", "%s is the id of %s too", dao.ID, first)
		} else {
			ids[dao.ID] = path
		}
		p.checkSources(file, dao, path, owners)
		p.readContracts(dao.Contracts, path+".contracts")
	}
	for host, forum := range file.Forums {
		path := "forums." + string(host)
		if _, named := owners[record.SourceRef{Provider: governance.Discourse, ID: string(host)}]; !named {
			p.refuse(path, "is the forum of no DAO")
		}
		if (forum.APIKey == "") != (forum.APIUser == "") {
			p.refuse(path, "needs both apiKey and apiUser, or none of them")
		}
	}
}

// checkSources refuses sources that cannot be reached, and those that another DAO has.
func (p *parser) checkSources(file File, dao DAO, path string, owners map[record.SourceRef]string) {
	for i, governor := range dao.Governors {
		if _, known := file.Chains[governor.ID.Chain()]; !known {
			p.refuse(fmt.Sprintf("%s.governors[%d]", path, i), "needs endpoints of %s in chains", governor.ID.Chain())
		}
	}
	for i, token := range dao.Tokens {
		if len(file.Governors(token.Chain())) == 0 {
			p.refuse(fmt.Sprintf("%s.tokens[%d]", path, i), "needs a Governor that is followed on %s", token.Chain())
		}
	}
	if len(dao.Tally) > 0 && file.Tally.APIKey == "" && file.Tally.URL == "" {
		p.refuse(path+".tally", "needs an apiKey in tally")
	}
	all := dao.Sources()
	if len(all) == 0 {
		p.refuse(path, "has no source: want one of snapshot, governors, forums, tally")
	}
	for _, source := range all {
		if first, again := owners[source]; again {
			p.refuse(path, "%s %s is a source of %s too", source.Provider, source.ID, first)
			continue
		}
		owners[source] = path
	}
}

// readContracts reads the functions of contracts, and refuses a contract that is there twice.
func (p *parser) readContracts(contracts []NamedContract, path string) {
	first := map[GovernorID]int{}
	for i := range contracts {
		c, at := &contracts[i], fmt.Sprintf("%s[%d]", path, i)
		if before, again := first[c.ID]; again {
			p.refuse(at, "%s has a name in %s[%d] already", c.ID, path, before)
			continue
		}
		if first[c.ID] = i; c.ABI == "" {
			continue
		}
		name := string(c.ABI)
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.folder, name)
		}
		text, err := readFile("ABI", name)
		if err == nil && len(text) > maxFileBytes {
			err = errors.New("the file is larger than 1 MiB")
		}
		if err == nil {
			c.functions, err = abi.ParseInterface(text)
		}
		if err != nil {
			p.refuse(at+".abi", "%s", err.Error())
		}
	}
}

// Sources returns the sources of a DAO.
func (d DAO) Sources() []record.SourceRef {
	governors := warehouse.Values(d.Governors, func(g Governor) GovernorID { return g.ID })
	return slices.Concat(
		refs(governance.Governor, governors), refs(governance.Snapshot, d.Snapshot),
		refs(governance.Tally, d.Tally), refs(governance.Discourse, d.Forums),
	)
}

func refs[T ~string](provider governance.Provider, ids []T) []record.SourceRef {
	return warehouse.Values(ids, func(id T) record.SourceRef { return record.SourceRef{Provider: provider, ID: string(id)} })
}

// Tokens returns the addresses of the tokens of a chain that DAOs name.
func (f File) Tokens(chain ChainID) []string {
	all := slices.Concat(warehouse.Values(f.DAOs, func(d DAO) []GovernorID { return d.Tokens })...)
	all = slices.DeleteFunc(all, func(token GovernorID) bool { return token.Chain() != chain })
	return warehouse.Values(all, GovernorID.Address)
}

// Spaces returns the followed spaces of all DAOs.
func (f File) Spaces() []string {
	all := slices.Concat(warehouse.Values(f.DAOs, func(d DAO) []Identifier { return d.Snapshot })...)
	return warehouse.Values(all, func(space Identifier) string { return string(space) })
}

// Governors returns the Governors of a chain.
func (f File) Governors(chain ChainID) []Governor {
	all := slices.Concat(warehouse.Values(f.DAOs, func(d DAO) []Governor { return d.Governors })...)
	return slices.DeleteFunc(all, func(g Governor) bool { return g.ID.Chain() != chain })
}
