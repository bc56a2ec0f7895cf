package tam

import "prospector/internal/shape"

// previewExample is a READY Preview. Its contact_tag_ids contain the id of the example of a tag.
const previewExample = `{
	"preview_id": "019cd71e-4206-7059-9263-27e85c2cce0e",
	"request_id": "0becd7b0-3898-4190-b9eb-dacc0cb1e29c",
	"status": "READY",
	"request": {
		"request_id": "0becd7b0-3898-4190-b9eb-dacc0cb1e29c",
		"company_filters": {
			"account_view_id": null,
			"filtering_rules": {"operator": "and", "filters": [
				{"field": "country", "condition": "is", "value": "United States"},
				{"field": "employee_count", "condition": "greater_than", "value": 50}
			]},
			"searching_rule": {"value": "warehouse"}
		},
		"contact_filters": {
			"include_keywords": ["operations", "logistics"], "exclude_keywords": ["assistant"], "seniority": "VP", "countries": ["United States"]
		},
		"exclude_companies_without_titles": true,
		"tag_ids": ["019cd6de-173e-7f33-a8b2-4bf48fc20904"],
		"contact_tag_ids": ["019cd6df-8be0-7811-818e-4c5767727e06"],
		"tag_existing_accounts": true,
		"tag_existing_contacts": true,
		"qualifier_signal_id": "019cd6e7-5cbd-7475-ad90-79fa38976503",
		"qualifier_rule": {"operator": "equals", "value": true},
		"search_input": null
	},
	"result": {
		"accounts": {
			"matched": 120, "eligible": 60, "new": 52, "existing": 8, "duplicate_source_rows": 3,
			"exclusions": {"SUPPRESSED": 2, "NO_MATCHING_TITLES": 15, "QUALIFIER_NOT_MATCHED": 38, "QUALIFIER_FAILED": 2}
		},
		"contacts": {
			"matched": 271, "eligible": 164, "new": 150, "existing": 14, "duplicate_source_rows": 2,
			"exclusions": {"SUPPRESSED": 4, "QUALIFIER_NOT_MATCHED": 96, "QUALIFIER_FAILED": 5}
		},
		"qualifier": {
			"available": true,
			"signal": {
				"id": "019cd6e7-5cbd-7475-ad90-79fa38976503", "name": "Ships parcels", "question": "Does the company ship parcels?",
				"data_type": "boolean", "rule": {"operator": "equals", "value": true}
			},
			"reason": null
		},
		"available_total": 120,
		"truncated": false,
		"rules": []
	},
	"failure_reason": null,
	"operation_id": null,
	"totals": {
		"companies": {"matched": 120, "eligible": 60, "new": 52, "existing": 8, "excluded": 60},
		"people": {"matched": 271, "eligible": 164, "excluded": 107}
	},
	"contacts_by_account": {
		"new_accounts": {"new": 138, "existing": 4, "total": 142},
		"existing_accounts": {"new": 12, "existing": 10, "total": 22}
	},
	"research": {
		"status": "completed",
		"reason": null,
		"field_id": "019cd6e7-5cbd-7475-ad90-79fa38976503",
		"field_name": "Ships parcels",
		"question": "Does the company ship parcels?",
		"passed": 60, "not_matched": 38, "failed": 2,
		"started_at": "2026-03-10T09:40:11.020Z",
		"finished_at": "2026-03-10T09:42:36.815Z",
		"cost": {
			"unit_product": "ai_signal", "charged": false, "companies": 100, "units": 98, "unit_rate": 1,
			"estimated_ai_signal_credits": 117, "actual_ai_signal_credits": 98, "rate_basis": "list", "charged_operation_id": null
		}
	},
	"tam_import_balance": null,
	"progress": 1,
	"available_total": 120,
	"truncated": false,
	"created_at": "2026-03-10T09:40:10.374Z",
	"updated_at": "2026-03-10T09:42:36.815Z"
}`

// importExample is the completed Import of that Preview.
const importExample = `{
	"operation_id": "019cd729-82c1-78f1-93f4-f5bca7436a65",
	"preview_id": "019cd71e-4206-7059-9263-27e85c2cce0e",
	"status": "completed",
	"progress": 1,
	"accounts": {"created": 52, "reused": 8, "skipped": 0},
	"contacts": {"created": 149, "reused": 14, "skipped": 1},
	"max_accounts": null,
	"max_contacts": 200,
	"charged": {
		"unit_product": "ai_signal", "charged": true, "companies": 100, "units": 98, "unit_rate": 1,
		"estimated_ai_signal_credits": 117, "actual_ai_signal_credits": 98, "rate_basis": "list",
		"charged_operation_id": "019cd729-82c1-78f1-93f4-f5bca7436a65"
	},
	"created_at": "2026-03-10T09:52:27.841Z",
	"finished_at": "2026-03-10T09:52:31.206Z",
	"failure_reason": null
}`

// beforeReady returns the Preview before it was READY, with the given status of research.
func beforeReady(p Preview, progress float64, status ResearchStatus) *Preview {
	research := Research{Status: status, FieldID: p.Research.FieldID, FieldName: p.Research.FieldName, Question: p.Research.Question}
	p.Result, p.Totals, p.ContactsByAccount = nil, nil, nil
	p.Research, p.Progress = &research, shape.NumberOf(progress)
	return &p
}

// failedPreview returns the Preview as it would be with an empty catalog.
func failedPreview(p Preview) *Preview {
	failed := beforeReady(p, 0, researchNotStarted)
	failed.Status, failed.FailureReason = Failed, catalogEmpty
	return failed
}

// cancelledPreview returns the Preview as it would be if it had been cancelled during research.
func cancelledPreview(p Preview) *Preview {
	cancelled, estimate := beforeReady(p, 0.42, researchRunning), *p.Research.Cost
	estimate.Companies, estimate.Units, estimate.Actual = estimate.Estimated, estimate.Estimated, shape.Number{}
	cancelled.Status = Cancelled
	cancelled.Research.StartedAt, cancelled.Research.Cost = p.Research.StartedAt, &estimate
	return cancelled
}

// acceptedImport returns the Import before it created any records.
func acceptedImport(m Import) *Import {
	m.Status, m.Progress, m.FinishedAt = importAccepted, shape.NumberOf(0), shape.Time{}
	m.Accounts, m.Contacts = ImportCounts{}, ImportCounts{}
	return &m
}

// failedImport returns the Import as it would be if it had failed halfway.
func failedImport(m Import) *Import {
	m.Status, m.Progress, m.FailureReason = importFailed, shape.NumberOf(0.35), internalError
	m.Accounts, m.Contacts = ImportCounts{Created: 18, Reused: 3}, ImportCounts{Created: 53, Reused: 5}
	return &m
}
