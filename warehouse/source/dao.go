package source

import (
	"cmp"
	"strings"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
)

// readDAO reads the sources of a DAO. The name defaults to the id.
func readDAO(in object) record.Record {
	id := in.get("daoId").identifier()
	dao := &record.DAO{ID: id, Name: cmp.Or(in.get("name").text(), id)}
	for source := range in.get("sources").objects() {
		dao.Sources = append(dao.Sources, readSourceRef(source))
	}
	for token := range in.get("tokens").elements() {
		dao.Tokens = append(dao.Tokens, readContract(token))
	}
	for contract := range in.get("contracts").objects() {
		id := contract.get("id")
		read := record.Contract{ID: readContract(id), Name: contract.get("name").text()}
		contract.get("name").require(typeString)
		for function := range contract.get("functions").elements() {
			read.Functions = append(read.Functions, function.text())
			if (abi.Interfaces{}).Add("", function.text()) != nil {
				function.rejectUnlike("the signature of a function, such as fund(address recipient,uint256 amount)")
			}
		}
		dao.Contracts = append(dao.Contracts, read)
	}
	return dao
}

// readSourceRef reads a source of a DAO. The address of a Governor and the host of a forum may have any case.
func readSourceRef(in object) record.SourceRef {
	id := in.get("id")
	ref := record.SourceRef{Provider: oneOf(in.get("provider"), governance.Providers()...), ID: id.identifier()}
	if ref.Provider == governance.Governor || ref.Provider.IsForum() {
		ref.ID = strings.ToLower(ref.ID)
	}
	if ref.Provider == governance.Governor && !governance.IsGovernorID(ref.ID) {
		id.rejectUnlike("eip155:<chain>:<address>")
	}
	return ref
}
