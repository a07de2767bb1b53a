"""The text of PDF files, read by pdfium in a process of its own."""
