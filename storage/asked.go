package storage

// Asked sums up exchanges: those that have a record each.
type Asked struct {
	Exchanges int64 // robots.txt and redirects included
	Answers   int64 // of them, those that brought a response head
	Robots    int64 // of them, those for robots.txt
	Octets    int64 // received
}

// Beyond returns what a has and b has not, nothing of it below zero.
func (a Asked) Beyond(b Asked) Asked {
	return Asked{
		max(a.Exchanges-b.Exchanges, 0), max(a.Answers-b.Answers, 0),
		max(a.Robots-b.Robots, 0), max(a.Octets-b.Octets, 0),
	}
}
