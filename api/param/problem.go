package param

// MaxProblems bounds how many problems an answer lists.
const MaxProblems = 20

// Problem is one thing that is wrong with the parameters of a request.
type Problem struct {
	// Parameter is the name of the parameter, of which a long one is cut; empty where the
	// whole query is wrong.
	Parameter string `json:"parameter,omitempty"`
	// Given is the value in the request; a long one is cut.
	Given   string `json:"given,omitempty"`
	Message string `json:"message"`
	Allowed string `json:"allowed"`
	Fix     string `json:"fix"`
}

// Empty returns the problem with a parameter without a value.
func (p Param) Empty() Problem {
	if p.Required {
		return Problem{Parameter: p.Name, Message: "is empty", Allowed: p.Allowed(), Fix: "give a value, for example " + p.sample()}
	}
	return Problem{
		Parameter: p.Name, Message: "is empty", Allowed: "a value, or leave the parameter out",
		Fix: "leave " + p.Name + " out, or give it a value",
	}
}
