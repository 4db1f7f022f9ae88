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
		dao.Contracts = append(dao.Contracts, readNamedContract(contract))
	}
	return dao
}

// readNamedContract reads a contract that dossiers call by a name.
func readNamedContract(in object) record.Contract {
	name := in.get("name")
	contract := record.Contract{ID: readContract(in.get("id")), Name: name.text()}
	if name.require(typeString) && contract.Name == "" {
		name.rejectUnlike("a name")
	}
	for function := range in.get("functions").elements() {
		contract.Functions = append(contract.Functions, function.text())
		if (abi.Interfaces{}).Add("", function.text()) != nil {
			function.rejectUnlike("the signature of a function, such as fund(address recipient,uint256 amount)")
		}
	}
	return contract
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
