package tables

// All are the tables that a crawl can be exported to, in the order of docs/reference/tables.md. The slice and the tables are not
// to be changed.
func All() []*Table {
	return []*Table{&Pages, &Hosts, &Robots, &Decisions, &Errors, &Headers, &Reading, &Links, &Duplicates}
}
