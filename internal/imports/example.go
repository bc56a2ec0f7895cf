package imports

// example is the record in the documentation of events.
const example = `{
	"id": "019cd82b-6a01-7c2e-8b1d-5f1f6a0f4c11",
	"created_at": "2026-03-10T10:14:10.241Z",
	"updated_at": "2026-03-10T10:14:12.906Z",
	"entity": "contacts",
	"dry_run": false,
	"file_name": "kontakte.csv",
	"file_bytes": 412876,
	"encoding": "windows-1252",
	"delimiter": ";",
	"status": "completed",
	"progress": 1,
	"rows": 2157,
	"added": 2098,
	"updated": 50,
	"skipped": 9,
	"values_dropped": 31,
	"opt_outs_kept": 0,
	"erased": 0,
	"suppressed": 3,
	"problems": [
		{"column": "Umsatz", "value": "k.A.", "message": "is not a number", "count": 31, "first_line": 12}
	],
	"rejects_omitted": 0,
	"warnings": ["column \"Kürzel\" was ignored: contacts have no such field"],
	"user_id": "019cd6f0-11b2-7a6e-9c40-2d5f7a1b3c4d",
	"finished_at": "2026-03-10T10:14:12.906Z",
	"failure_reason": null
}`
