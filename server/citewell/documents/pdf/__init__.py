"""The text of PDF files, read by pdfium in a separate process."""
