// Package httpfield reads what fields of an answer ask a crawler for, as the audit reads them: with none of the
// crawl's code, so as not to share a mistake with it.
package httpfield
