SELECT DISTINCT import_id
FROM batches FINAL
WHERE sealed = 0
